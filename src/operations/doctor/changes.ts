/**
 * Known ways in which proxies, parsers, editors and logs change a body or the signature header. The first that explains the
 * difference wins.
 */

interface BodyChange {
  /** For the doctor, after “Probable cause:”. The probe arrived as the result of `apply`. */
  readonly what?: string
  /** For `verify`: the signature covers the result of `apply` to the given body. */
  readonly cause?: string
  /** Undefined if it does not apply to this body. */
  readonly apply: (body: Buffer) => Buffer | undefined
}

const NEWLINE = Buffer.from('\n')
const BYTE_ORDER_MARK = Buffer.from([0xef, 0xbb, 0xbf])

/** Parses the JSON and serialises it again. */
function rewritten(write: (value: unknown) => string | undefined): BodyChange['apply'] {
  return (body) => {
    try {
      const text = write(JSON.parse(body.toString()))
      return text === undefined ? undefined : Buffer.from(text)
    } catch {
      return undefined
    }
  }
}

/** Formats like Python's `json.dumps`: one line, with a space after each comma and colon. */
function spaced(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(spaced).join(', ')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const fields = Object.entries(value).map(([name, field]) => `${JSON.stringify(name)}: ${spaced(field)}`)
  return `{${fields.join(', ')}}`
}

function escaped(text: string): string {
  return text.replaceAll(/[\u0080-\uffff]/g, (letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}`)
}

function withoutAuthKey(value: unknown): string | undefined {
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, 'authKey')) return undefined
  return JSON.stringify({ ...value, authKey: undefined })
}

/** Newline changes come before serialisation, which would also undo a newline. */
const BODY_CHANGES: readonly BodyChange[] = [
  {
    cause:
      'a trailing newline was added to the body, for example by `echo`, an editor or a log. Send the original bytes, with `printf` or curl’s --data-binary.',
    apply: (body) => (body.at(-1) === 0x0a ? body.subarray(0, body.at(-2) === 0x0d ? -2 : -1) : undefined),
  },
  {
    what: 'a newline was appended',
    cause: 'the body lost its trailing newline: something trimmed it, as curl’s --data does.',
    apply: (body) => Buffer.concat([body, NEWLINE]),
  },
  {
    cause: 'line ends were changed from LF to CRLF, by an editor or a copy in text mode.',
    apply: (body) =>
      body.includes('\r\n') ? Buffer.from(body.toString('latin1').replaceAll('\r\n', '\n'), 'latin1') : undefined,
  },
  {
    cause: 'a byte order mark was prepended to the body.',
    apply: (body) => (body.subarray(0, 3).equals(BYTE_ORDER_MARK) ? body.subarray(3) : undefined),
  },
  {
    what: 'the JSON was parsed and serialised again',
    cause:
      'the body was parsed and re-serialised. Check the signature over the raw body, before any parser (mount the receiver before express.json()).',
    apply: rewritten((value) => JSON.stringify(value)),
  },
  {
    what: 'the JSON was parsed and serialised again with spaces',
    cause:
      'the body was re-serialised with spaces after commas and colons, as Python’s json.dumps does. Check the signature over the raw body.',
    apply: rewritten(spaced),
  },
  {
    what: 'the JSON was parsed and serialised again, indented by two',
    cause:
      'the body was re-serialised over several lines. Check the signature over the raw body, not over the output of a log or a formatter.',
    apply: rewritten((value) => JSON.stringify(value, undefined, 2)),
  },
  {
    what: 'the JSON was parsed and serialised again with spaces and in ASCII',
    apply: rewritten((value) => escaped(spaced(value))),
  },
  {
    what: 'the JSON was parsed and serialised again with escaped slashes',
    apply: rewritten((value) => escaped(JSON.stringify(value)).replaceAll('/', '\\/')),
  },
  {
    what: 'the body was decoded as Latin-1 and encoded as UTF-8',
    apply: (body) => Buffer.from(body.toString('latin1')),
  },
  { what: 'a byte order mark was prepended', apply: (body) => Buffer.concat([BYTE_ORDER_MARK, body]) },
  {
    cause:
      'the authKey was removed from the body before it was signed. The signature covers the whole body, including the authKey.',
    apply: rewritten(withoutAuthKey),
  },
]

/**
 * Describes the first change after which `matches` accepts the body. `what`: from a sent probe to the received one. `cause`: from
 * a given body to the signed one.
 */
export function findChange(
  column: 'what' | 'cause',
  body: Buffer,
  matches: (changed: Buffer) => boolean,
): string | undefined {
  return BODY_CHANGES.find(({ [column]: words, apply }) => {
    const changed = words === undefined ? undefined : apply(body)
    return changed !== undefined && matches(changed)
  })?.[column]
}

/** A description of the change, and the header values that arrive instead of the sent one. */
type HeaderChange = readonly [what: string, apply: (value: string) => readonly string[]]

export const HEADER_CHANGES: readonly HeaderChange[] = [
  ['it was sent twice', (value) => [value, value]],
  ['it was repeated within one line', (value) => [`${value}, ${value}`]],
  ['it was folded as a list, with a space after the comma', (value) => [value.replace(',', ', ')]],
  ['it was split at its comma into two headers', (value) => value.split(',')],
  ['it was changed to upper case', (value) => [value.toUpperCase()]],
  ['it was put in quotation marks', (value) => [`"${value}"`]],
  ['its comma and equals signs were percent-encoded', (value) => [encodeURIComponent(value)]],
  ['it was cut at its comma', (value) => [value.split(',')[0] ?? '']],
]
