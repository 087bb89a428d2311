"""Third-party libraries in a child process: client, child, and the messages between them."""
