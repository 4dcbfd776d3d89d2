/**
 * A body as indented JSON, written anew from its own text: each number stays as the sender wrote it, where a JavaScript number
 * would be another one.
 */

/** What is put in the place of a value, by the name of its field. `text` is a string itself, and any other value as it is written. */
type Replace = (name: string, text: string, kind: 'string' | 'number') => string

interface Printing {
  /** Of values; what it returns for a number is written as a string, unless it is the same. */
  readonly replace: Replace
  /** Of the names of fields. */
  readonly nameOf: (name: string) => string
  /** A field at the top that is left out. */
  readonly without?: string
  readonly mostCharacters: number
}

const CUT = '… (cut)'
const TOKEN = /\s+|"[^"\\]*(?:\\.[^"\\]*)*"|-?\d[\d.eE+-]*|[{}[\]:,]|true|false|null/gsy

/** Of text that `JSON.parse` takes. The result is cut after so many characters. */
export function printed(json: string, { replace, nameOf, without, mostCharacters }: Printing): string {
  const tokens = tokensOf(json)
  let out = ''
  let depth = 0
  let at = 0
  const isFull = (): boolean => out.length > mostCharacters

  function line(): void {
    out += `\n${'  '.repeat(depth)}`
  }

  function value(name: string, isShown: boolean): void {
    const token = tokens[at] ?? 'null'
    at += 1
    if (isFull()) {
      // Nothing more is shown, however deep the rest is.
      at = tokens.length
      return
    }
    if (token === '{' || token === '[') {
      if (isShown) container(token, name)
      else skipContainer()
      return
    }
    if (!isShown) return
    if (token.startsWith('"')) out += JSON.stringify(replace(name, unquoted(token), 'string'))
    else if (/^[-\d]/.test(token)) {
      const replaced = replace(name, token, 'number')
      out += replaced === token ? token : JSON.stringify(replaced)
    } else out += token
  }

  /** To its end, without a call for each level. */
  function skipContainer(): void {
    for (let open = 1; open > 0 && at < tokens.length; at += 1) {
      const token = tokens[at]
      if (token === '{' || token === '[') open += 1
      else if (token === '}' || token === ']') open -= 1
    }
  }

  function container(open: string, name: string): void {
    const close = open === '{' ? '}' : ']'
    const isTop = depth === 0
    let isFirst = true
    out += open
    depth += 1
    while (at < tokens.length && tokens[at] !== close) {
      if (tokens[at] === ',') at += 1
      let field = name
      let isFieldShown = true
      if (open === '{') {
        field = unquoted(tokens[at] ?? '""')
        isFieldShown = !(isTop && field === without)
        at += 2
      }
      if (isFieldShown) {
        if (!isFirst) out += ','
        isFirst = false
        line()
        if (open === '{') out += `${JSON.stringify(nameOf(field))}: `
      }
      value(field, isFieldShown)
    }
    at += 1
    depth -= 1
    if (isFull()) return
    if (!isFirst) line()
    out += close
  }

  value('', true)
  return isFull() ? out.slice(0, mostCharacters) + CUT : out
}

function tokensOf(json: string): readonly string[] {
  return (json.match(TOKEN) ?? []).filter((token) => token.trim() !== '')
}

function unquoted(token: string): string {
  try {
    return String(JSON.parse(token))
  } catch {
    return ''
  }
}
