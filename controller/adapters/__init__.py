"""The only modules that open a socket, a file or a process."""
