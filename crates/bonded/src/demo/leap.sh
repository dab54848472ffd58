#!/bin/sh
# Prints "leap" or "common" for a year.
year=$1
if [ $((year % 4)) -eq 0 ] && [ $((year % 100)) -ne 0 ]; then
    echo leap
else
    echo common
fi
