# What topwords.sh promises.
fail() { echo "FAIL: $1" >&2; exit 1; }
check() {
    got=$(printf "$1" | sh topwords.sh $2) || fail "it ended badly on '$1'"
    want=$(printf "$3")
    [ "$got" = "$want" ] || fail "of '$1' ($2) it prints '$got', not '$want'"
}
check 'the cat and the dog and the bird\n' 2 '3 the\n2 and'
check 'b a c b a\n' '' '2 a\n2 b\n1 c'
check 'One, one; ONE! two-two 3 three3\n' 3 '3 one\n2 two\n1 three'
check 'z y x w v\n' 10 '1 v\n1 w\n1 x\n1 y\n1 z'
check '... 1 2 3\n' 3 ''
check 'no end of line' 1 '1 end'
check 'a b c d e f g h i j a\n' '' '2 a\n1 b\n1 c'
echo ok
