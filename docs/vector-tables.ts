/** The tables of the conformance vectors' fields. */
import { z } from 'zod'
import { families } from '../test/vectors/format.ts'
import type { GeneratedTable } from './tables.ts'

/** As much of a JSON Schema as ours has. */
const node = z.object({
  type: z.union([z.string(), z.array(z.string())]).optional(),
  description: z.string().optional(),
  const: z.union([z.string(), z.number()]).optional(),
  enum: z.array(z.string()).optional(),
  required: z.array(z.string()).optional(),
  get properties() {
    return z.record(z.string(), node).optional()
  },
  get items() {
    return z.union([node, z.literal(false)]).optional()
  },
  get oneOf() {
    return z.array(node).optional()
  },
  get anyOf() {
    return z.array(node).optional()
  },
})
type Node = z.infer<typeof node>

const { $defs } = z.object({ $defs: z.record(z.string(), node) }).parse(z.toJSONSchema(z.strictObject(families)))

const WORDS: Readonly<Record<string, string>> = {
  string: 'text',
  integer: 'whole number',
  boolean: 'true or false',
  array: 'list',
}

/** More words than this are a table of their own, elsewhere. */
const MAX_WORDS = 4

export const VECTOR_TABLES: readonly GeneratedTable[] = Object.entries($defs).map(([family, vector]) => ({
  page: 'docs/reference/vectors.md',
  under: family,
  header: ['Field', 'Type', 'What'],
  rows: rowsOf(vector, ''),
}))

/** A row for each field that says what it is, and those of what is in it. */
function rowsOf(holder: Node, path: string): readonly (readonly string[])[] {
  const forms = [holder, ...(holder.oneOf ?? []), ...(holder.anyOf ?? [])]
  return forms.flatMap(({ properties = {}, required = [] }) =>
    Object.entries(properties).flatMap(([name, field]) => {
      const here = `${path}${name}`
      const type = `${typeOf(field)}${required.includes(name) ? '' : ', or absent'}`
      const row = field.description === undefined ? [] : [[`\`${here}\``, type, field.description]]
      return [...row, ...rowsOf(field, `${here}.`), ...rowsOfItems(field, here)]
    }),
  )
}

function rowsOfItems({ items }: Node, path: string): readonly (readonly string[])[] {
  if (items === undefined || items === false) return []
  return [...rowsOf(items, `${path}[].`), ...rowsOfItems(items, `${path}[]`)]
}

function typeOf({ type, const: only, enum: words, anyOf }: Node): string {
  if (only !== undefined) return `\`${only}\``
  if (words !== undefined && words.length <= MAX_WORDS) return words.map((word) => `\`${word}\``).join(', ')
  if (anyOf !== undefined) return anyOf.map(typeOf).join(', or ')
  return [type ?? 'string']
    .flat()
    .map((word) => WORDS[word] ?? word)
    .join(' or ')
}
