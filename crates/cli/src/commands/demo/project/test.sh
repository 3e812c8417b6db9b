# Checks sum.sh: check EXPECTED NUMBER…
check() {
    expected=$1
    shift
    got=$(sh sum.sh "$@")
    if [ "$got" != "$expected" ]; then
        echo "FAIL: the sum of $* should be $expected, but is $got"
        exit 1
    fi
    echo "ok: the sum of $* is $got"
}

check 7 7
check 5 2 3
check 60 10 20 30
echo "all tests pass"
