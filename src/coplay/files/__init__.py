"""Files: one reader and one writer for every kind, the kinds themselves, and the manifests that say what a directory consists of."""
