# Three logs, one place on.
set -e
here=$(mktemp -d)
trap 'rm -rf "$here"' EXIT
printf now > "$here/log"; printf one > "$here/log.1"; printf two > "$here/log.2"
sh rotate.sh "$here/log" 3
test ! -s "$here/log"
test "$(cat "$here/log.1")" = now
test "$(cat "$here/log.2")" = one
test "$(cat "$here/log.3")" = two
echo ok
