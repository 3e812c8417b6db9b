#!/bin/sh
# topwords.sh [N]: the N most frequent words of standard input.
LC_ALL=C
export LC_ALL
tr 'A-Z' 'a-z' | tr -cs 'a-z' '\n' | grep . | sort | uniq -c | sort -k1,1nr -k2,2 | head -n "${1:-3}" |
    while read -r count word; do
        echo "$count $word"
    done
