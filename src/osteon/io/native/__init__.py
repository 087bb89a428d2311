"""Libraries of others run in a child process: client, child, and the messages between them."""
