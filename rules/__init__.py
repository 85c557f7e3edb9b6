"""The core of blastdoor: values in, values out. No I/O, no clock, no logging; start reading at README.md."""
