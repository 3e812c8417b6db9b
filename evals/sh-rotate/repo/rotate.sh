#!/bin/sh
# rotate.sh FILE KEEP: moves old logs one place on.
file=$1
keep=$2

n=1
while [ $n -lt $keep ]; do
    next=$((n + 1))
    if [ -f $file.$n ]; then
        mv $file.$n $file.$next
    fi
    n=$next
done
mv $file $file.1
: > $file
