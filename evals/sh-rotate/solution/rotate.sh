#!/bin/sh
# rotate.sh FILE KEEP: moves old logs one place on.
file=$1
keep=$2

if [ ! -f "$file" ]; then
    echo "rotate.sh: $file: no such file" >&2
    exit 1
fi
n=$keep
rm -f "$file.$n"
while [ "$n" -gt 1 ]; do
    before=$((n - 1))
    if [ -f "$file.$before" ]; then
        mv "$file.$before" "$file.$n"
    fi
    n=$before
done
if [ "$keep" -gt 0 ]; then
    mv "$file" "$file.1"
fi
: > "$file"
