"""Writes all recorded graphs: /path/to/python record.py [subject ...]"""
import importlib
import sys

import recorder

SUBJECTS = ["arrays_v1", "crosses", "other_forms", "ragged_features", "ragged_variants", "random_graphs", "tables"]
for subject in sys.argv[1:] or SUBJECTS:
    importlib.import_module(subject)
recorder.write()
