# Completion of tokcli for bash. Without this file: eval "$(tokcli --completion bash)" in ~/.bashrc

_tokcli() {
    local program=$1 answer kind space before inside line
    [[ $program == "~/"* ]] && program=$HOME/${program:2}
    type "$program" >/dev/null 2>&1 || program=tokcli
    answer=$(
        _TOKCLI_COMPLETE=bash command "$program" \
            "${COMP_LINE:0:COMP_POINT}" "$2" "${COMP_TYPE:-9}" "${COLUMNS:-80}" 2>/dev/null
    ) || return
    COMPREPLY=()
    {
        IFS=' ' read -r kind space
        IFS= read -r before
        IFS= read -r inside
        while IFS= read -r line; do COMPREPLY+=("$line"); done
    } <<<"$answer"
    [[ $space == nospace ]] && compopt -o nospace 2>/dev/null
    [[ $kind == none ]] && return
    compopt -o filenames 2>/dev/null
    [[ $kind == folder ]] && kind=directory
    while IFS= read -r line; do
        [[ -n $line ]] && COMPREPLY+=("$before${line#"$inside"}")
    done <<<"$(compgen -A "$kind" -- "$inside${2#"$before"}")"
}

complete -o nosort -F _tokcli tokcli 2>/dev/null || complete -F _tokcli tokcli
