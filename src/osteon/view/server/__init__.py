"""The server behind the page: its session, routes, uploads and limits."""
