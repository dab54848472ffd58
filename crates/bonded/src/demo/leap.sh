#!/bin/sh
# Prints "leap" or "common" for a year.
year=$1
divides() { [ $((year % $1)) -eq 0 ]; }
if divides 4 && ! divides 100; then
    echo leap
else
    echo common
fi
