"""The page of ``coplay view``: a server on the loopback address that shows the runs of a directory. It reads files and writes none."""
