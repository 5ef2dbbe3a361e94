"""Writes all recorded graphs: /path/to/python record.py [subject ...]"""
import importlib
import sys

import recorder

SUBJECTS = ["crosses", "ragged_variants", "tables"]
for subject in sys.argv[1:] or SUBJECTS:
    importlib.import_module(subject)
recorder.write()
