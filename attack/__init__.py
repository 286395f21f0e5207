"""Attacks on coplay: what is killed, damaged, mistyped, hostile or badly timed must end right, or in one line that names what is wrong."""
