/** What proxies, gateways and parsers are known to do to a body or a header: each is tried until one explains what came. */

interface Change<T> {
  /** As in “It was …”. */
  readonly what: string
  readonly apply: (sent: T) => T
}

/** The JSON is read and written anew. */
function rewritten(write: (value: unknown) => string): (sent: Buffer) => Buffer {
  return (sent) => Buffer.from(write(JSON.parse(sent.toString())))
}

/** As Python's `json.dumps` writes: a blank behind commas and colons. */
function spaced(value: unknown): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const fields = Object.entries(value).map(([name, field]) => `${JSON.stringify(name)}: ${spaced(field)}`)
  return `{${fields.join(', ')}}`
}

function sorted(value: unknown): unknown {
  return typeof value === 'object' && value !== null ? Object.fromEntries(Object.entries(value).toSorted()) : value
}

function escaped(text: string): string {
  return text.replaceAll(/[\u0080-\uffff]/g, (letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}`)
}

/** Of a body, such that its mark can still be read: only these may be signed for, since any other would be an event. */
export const BODY_CHANGES: readonly Change<Buffer>[] = [
  { what: 'a newline was added at its end', apply: (sent) => Buffer.concat([sent, Buffer.from('\n')]) },
  {
    what: 'a carriage return and newline were added at its end',
    apply: (sent) => Buffer.concat([sent, Buffer.from('\r\n')]),
  },
  { what: 'its JSON was read and written anew', apply: rewritten((value) => JSON.stringify(value)) },
  {
    what: 'its JSON was read and written anew, with a newline',
    apply: rewritten((value) => `${JSON.stringify(value)}\n`),
  },
  {
    what: 'its JSON was read and written anew, with its fields sorted',
    apply: rewritten((value) => JSON.stringify(sorted(value))),
  },
  {
    what: 'its JSON was read and written anew, indented by two',
    apply: rewritten((value) => JSON.stringify(value, null, 2)),
  },
  {
    what: 'its JSON was read and written anew, indented by four',
    apply: rewritten((value) => JSON.stringify(value, null, 4)),
  },
  { what: 'its JSON was read and written anew, with blanks', apply: rewritten(spaced) },
  {
    what: 'its JSON was read and written anew, with blanks and in ASCII',
    apply: rewritten((value) => escaped(spaced(value))),
  },
  { what: 'its JSON was read and written anew, in ASCII', apply: rewritten((value) => escaped(JSON.stringify(value))) },
  {
    what: 'its JSON was read and written anew, with slashes escaped',
    apply: rewritten((value) => escaped(JSON.stringify(value)).replaceAll('/', '\\/')),
  },
  { what: 'it was taken for Latin-1 and written as UTF-8', apply: (sent) => Buffer.from(sent.toString('latin1')) },
  {
    what: 'a byte order mark was put before it',
    apply: (sent) => Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), sent]),
  },
]

/** Of the header: one value becomes those that come. */
export const HEADER_CHANGES: readonly Change<readonly string[]>[] = [
  { what: 'it was sent twice', apply: ([value = '']) => [value, value] },
  { what: 'it was repeated within one line', apply: ([value = '']) => [`${value}, ${value}`] },
  {
    what: 'it was folded as a list: a blank stands behind its comma',
    apply: (values) => values.map((value) => value.replace(',', ', ')),
  },
  { what: 'it was split at its comma into two headers', apply: ([value = '']) => value.split(',') },
  { what: 'its letters became capitals', apply: (values) => values.map((value) => value.toUpperCase()) },
  { what: 'it was put in quotation marks', apply: (values) => values.map((value) => `"${value}"`) },
  {
    what: 'its comma and equals signs were percent-encoded',
    apply: (values) => values.map((value) => encodeURIComponent(value)),
  },
  { what: 'it was cut at its comma', apply: (values) => values.map((value) => value.split(',')[0] ?? '') },
]
