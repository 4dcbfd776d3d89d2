/** A message id as text, and whether that text is surely the one that was sent. */

export interface ReadId {
  readonly messageId: string
  /** False where two different ids could look the same here; the body's digest then joins the identity. */
  readonly exact: boolean
}

/**
 * Text stays as it is, and a number becomes its digits. Beyond 2^53 a parsed number has lost some of them: there the text
 * of the body is asked. `name` is the field's name in the body.
 */
export function readId(id: string | number, name: string, bodyText: () => string): ReadId {
  if (typeof id === 'string') return { messageId: id, exact: isExactText(id) }
  if (Number.isSafeInteger(id)) return { messageId: String(id), exact: true }
  const digits = sourceOf(bodyText(), name, id)
  return digits === undefined ? { messageId: String(id), exact: false } : { messageId: digits, exact: true }
}

/** The number as it is written in the body; undefined where several of that name look the same here. */
function sourceOf(text: string, name: string, id: number): string | undefined {
  const sources = new Set<string | undefined>()
  JSON.parse(text, (key: string, value: unknown, context?: { readonly source?: string }) => {
    if (key === name && value === id) sources.add(context?.source)
    return value
  })
  const [source] = sources
  return sources.size === 1 ? source : undefined
}

/** Bytes that were no UTF-8 show as U+FFFD; a lone surrogate becomes one as soon as a store writes it. */
export function isExactText(text: string): boolean {
  return text.isWellFormed() && !text.includes('\uFFFD')
}
