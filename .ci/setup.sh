# Sourced by .ci/demo and .ci/test: Debian packages, a virtual environment in .venv, the package.
# Every step is skipped when its work is done already.

ROOT=$(cd "$(dirname "$0")/.." && pwd)
cd "$ROOT" || exit 1
VENV=$ROOT/.venv
export PIP_DISABLE_PIP_VERSION_CHECK=1
# Nothing but the installed package is to be found, not even the sources in this directory.
export PYTHONSAFEPATH=1
unset PYTHONPATH PYTHONHOME

say() { printf '%s\n' "$*"; }
die() { printf '%s\n' "$*" >&2; exit 1; }

# find_python: the first interpreter that is new enough, in $PYTHON.
find_python() {
    for candidate in ${PYTHON:-} python3 python3.14 python3.13 python3.12 python3.11; do
        if "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
            PYTHON=$candidate
            return 0
        fi
    done
    return 1
}

# need_python: the same, with the one of Debian installed where there is none.
need_python() {
    find_python && return
    if can_install && ! has_program python3; then
        say "installing Debian packages: python3 python3-venv"
        $sudo apt-get update -q >"$LOG" 2>&1
        apt_install python3 python3-venv || tail -n 5 "$LOG"
        find_python && return
    elif has_program apt-get && ! has_program python3; then
        die "amqpscope needs Python; run: sudo apt-get install python3 python3-venv"
    fi
    die "amqpscope needs Python 3.11 or newer; install it, or name it: PYTHON=/path/to/python $0"
}

has_program() { command -v "$1" >/dev/null 2>&1; }
has_venv() { [ -x "$VENV/bin/pip" ] || "$PYTHON" -c 'import ensurepip, venv' 2>/dev/null; }
has_compiler() {
    "$PYTHON" -c 'import os, shutil, sys, sysconfig
compiler = os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc"
sys.exit(shutil.which(compiler.split()[0]) is None)'
}
has_headers() {
    "$PYTHON" -c 'import os, sys, sysconfig
sys.exit(not os.path.exists(os.path.join(sysconfig.get_path("include"), "Python.h")))'
}
can_compile() { has_compiler && has_headers; }
has_openssl_headers() { pkg-config --exists openssl 2>/dev/null; }

# want CHECK PACKAGE...: note the Debian packages when the check fails.
want() {
    check=$1
    shift
    WANTED="$WANTED$check && "
    $check || MISSING="$MISSING $*"
}

# all_there: whether everything wanted is there, by now.
all_there() { eval "${WANTED}true"; }

# can_install: whether packages can be installed without asking anybody; $sudo is how.
can_install() {
    has_program apt-get || return 1
    sudo=
    [ "$(id -u)" = 0 ] && return
    sudo="sudo -n"
    sudo -n true 2>/dev/null
}

# apt_install PACKAGE...: with as little as possible beside them.
apt_install() {
    $sudo env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends "$@" \
        >>"$LOG" 2>&1
}

# install_missing: apt-get what $MISSING names, or say which command does it.
install_missing() {
    [ -n "$MISSING" ] || return 0
    if ! has_program apt-get; then
        say "not found here, please install what your system calls:$MISSING"
    elif ! can_install; then
        say "some Debian packages are missing; for all features run:"
        say "    sudo apt-get install$MISSING"
    else
        say "installing Debian packages:$MISSING"
        $sudo apt-get update -q >"$LOG" 2>&1
        # shellcheck disable=SC2086  # the list is meant to be split
        if ! apt_install $MISSING; then
            # One that cannot be had is no reason to go without the others.
            for package in $MISSING; do apt_install "$package"; done
        fi
        if ! all_there; then
            tail -n 5 "$LOG"
            say "that failed; for all features run:"
            say "    apt-get update && apt-get install$MISSING"
        fi
    fi
}

# make_venv: .venv, made anew when it is not there, broken or of an old Python.
make_venv() {
    if ! "$VENV/bin/python" -c 'import pip, sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
        has_venv || die "cannot go on without the package python3-venv (see above)"
        rm -rf "$VENV"
        "$PYTHON" -m venv "$VENV" || die "cannot create $VENV"
    fi
}

# stamp_of BUILD: what tells these very sources, built in that way, from all others.
stamp_of() {
    sources="amqpscope dissectors .ci pyproject.toml captures/demo.pcapng"
    # shellcheck disable=SC2086
    echo "$1 $(find $sources -type f ! -name '*.py[co]' -exec cksum {} + | LC_ALL=C sort | cksum)"
}

# is_installed STAMP WHAT: whether .venv has it already.
is_installed() {
    case $(cat "$VENV/installed" 2>/dev/null) in
    "$1 $2" | "$1 .[dev]") return 0 ;;
    esac
    return 1
}

# pip_install WHAT...: with the package replaced, though its version stays the same.
pip_install() {
    rm -f "$VENV/installed"
    "$VENV/bin/pip" uninstall -q -y amqpscope >/dev/null 2>&1
    if ! "$VENV/bin/pip" install -q "$@" >"$LOG" 2>&1; then
        cat "$LOG"
        die "pip install failed"
    fi
}

# install_package WHAT: `pip install WHAT`, unless these very sources are installed already.
install_package() {
    build=${AMQPSCOPE_BUILD:-auto}
    if [ "$build" = auto ]; then
        build=pure
        if can_compile; then build=compiled; fi
    fi
    stamp=$(stamp_of "$build")
    if is_installed "$stamp" "$1"; then return 0; fi
    say "installing amqpscope into .venv (a minute or two)"
    pip_install "$1"
    say "$stamp $1" >"$VENV/installed"
}

# wheel_cache: where the wheel is kept that was built from these very sources for this Python.
wheel_cache() {
    abi=$("$VENV/bin/python" -c 'import sysconfig; print(sysconfig.get_config_var("SOABI"))')
    echo "${XDG_CACHE_HOME:-${HOME:-$VENV}/.cache}/amqpscope/wheels/$(echo "$abi $stamp" | tr ' ' -)"
}

# start_compiling WHAT: `pip install WHAT` as pure Python, while the compiled wheel is being built
# in the background: that takes a minute or more. finish_compiling WHAT waits and installs it.
# A wheel that was built from these very sources before is installed at once.
start_compiling() {
    stamp=$(stamp_of compiled)
    BUILDING=
    if is_installed "$stamp" "$1"; then return 0; fi
    cache=$(wheel_cache)
    if [ -d "$cache" ]; then
        say "installing amqpscope into .venv"
        pip_install "$(echo "$cache"/*.whl)${1#.}"
        say "$stamp $1" >"$VENV/installed"
        return 0
    fi
    say "installing amqpscope into .venv, and compiling it meanwhile"
    WHEELS=$(mktemp -d)
    AMQPSCOPE_BUILD=compiled nice "$VENV/bin/pip" wheel -q --no-deps -w "$WHEELS" . \
        >"$WHEELS/log" 2>&1 &
    BUILDING=$!
    (
        export AMQPSCOPE_BUILD=pure
        pip_install "$1"
    ) || exit 1
}

finish_compiling() {
    [ -n "$BUILDING" ] || return 0
    building=$BUILDING
    BUILDING=
    if ! wait "$building"; then
        cat "$WHEELS/log"
        die "compiling failed"
    fi
    pip_install --no-deps "$WHEELS"/*.whl
    say "$stamp $1" >"$VENV/installed"
    keep_wheel
}

# keep_wheel: put what was built into the cache, and drop what is there for a month.
keep_wheel() {
    kept=$(dirname "$cache")
    mkdir -p "$kept" 2>/dev/null || return 0
    find "$kept" -mindepth 1 -maxdepth 1 -mtime +30 -exec rm -rf {} +
    rm -f "$WHEELS/log"
    mv "$WHEELS" "$cache" 2>/dev/null || true
}

# clean_up: what is left when the script ends, also in the middle.
clean_up() {
    [ -z "$BUILDING" ] || kill "$BUILDING" 2>/dev/null
    rm -rf "$LOG" "$WHEELS"
}

LOG=$(mktemp)
WHEELS=
BUILDING=
trap clean_up EXIT
MISSING=
WANTED=
need_python
