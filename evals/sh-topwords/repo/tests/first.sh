# Two words, the more frequent one first.
got=$(printf 'b a b\n' | sh topwords.sh 2)
want=$(printf '2 b\n1 a')
[ "$got" = "$want" ] || { echo "FAIL: it prints '$got'" >&2; exit 1; }
echo ok
