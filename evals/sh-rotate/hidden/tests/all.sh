# What rotate.sh promises.
set -e
here=$(mktemp -d)
trap 'rm -rf "$here"' EXIT
fail() { echo "FAIL: $1" >&2; exit 1; }
is() { [ "$(cat "$1" 2>/dev/null)" = "$2" ] || fail "$1 should hold '$2'"; }

sh tests/first.sh > /dev/null || fail "the first test"

log="$here/my log"
for text in a b c d e; do
    printf %s $text > "$log"
    sh rotate.sh "$log" 2
done
[ -f "$log" ] && [ ! -s "$log" ] || fail "the log should be empty"
is "$log.1" e
is "$log.2" d
[ ! -e "$log.3" ] || fail "only two are kept"

printf x > "$here/none"
sh rotate.sh "$here/none" 0
[ ! -s "$here/none" ] || fail "KEEP of 0 empties the log"
[ ! -e "$here/none.0" ] && [ ! -e "$here/none.1" ] || fail "KEEP of 0 keeps nothing"

if sh rotate.sh "$here/missing" 3 2> /dev/null; then fail "a missing log is an error"; else code=$?; fi
[ "$code" -eq 1 ] || fail "a missing log is exit code 1, not $code"
[ ! -e "$here/missing" ] || fail "a missing log is not made"
echo ok
