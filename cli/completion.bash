# bash completion of @program@: source this file, or put it where bash-completion looks.
_@program@() {
  local current=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]}
  local command=${COMP_WORDS[1]} options= words=
  COMPREPLY=()
  if ((COMP_CWORD == 1)); then
    mapfile -t COMPREPLY < <(compgen -W '@commands@ --help --version' -- "$current")
    return
  fi
  case $command in
@options@  esac
  case "$command $before" in
@choices@    *) words= ;;
  esac
  case $command in
    @with_overrides@) [[ ! $words ]] && _@program@_override && return ;;
  esac
  if [[ $words ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
  elif [[ $current == -* ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$options" -- "$current")
  else
    mapfile -t COMPREPLY < <(compgen -f -- "$current")
  fi
}
_@program@_override() {
  local current=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]}
  local key= prefix= words=
  if [[ $current == '=' ]]; then
    key=$before current=
  elif [[ $before == '=' ]]; then
    key=${COMP_WORDS[COMP_CWORD-2]}
  elif [[ $current == *=* ]]; then
    key=${current%%=*} prefix=$key=
  fi
  case $key in
    '') [[ $current && $current != -* ]] && words='@keys@' ;;
@values@  esac
  [[ $words ]] || return
  mapfile -t COMPREPLY < <(compgen -P "$prefix" -W "$words" -- "${current#"$prefix"}")
  ((${#COMPREPLY[@]})) || return
  compopt +o filenames 2>/dev/null
  [[ $key ]] || compopt -o nospace 2>/dev/null
  return 0
}
complete -o filenames -F _@program@ @program@
