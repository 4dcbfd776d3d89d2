/** The table of the conformance vectors' fields. */
import { z } from 'zod'
import { families } from '../test/vectors/format.ts'
import type { GeneratedTable } from './tables.ts'

/** As much of a JSON Schema as ours has. */
const node = z.object({
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

/** The fields of every family. */
const COMMON = ['name', 'decidedBy']

export const VECTOR_TABLES: readonly GeneratedTable[] = [
  {
    page: 'docs/guides/vectors.md',
    under: 'fields',
    header: ['Family', 'Fields'],
    rows: Object.entries($defs).map(([family, vector]) => [
      `\`${family}\``,
      [...new Set(pathsOf(vector, ''))]
        .filter((path) => !COMMON.includes(path))
        .map((path) => `\`${path}\``)
        .join(', '),
    ]),
  },
]

/** The paths of the fields without fields of their own. `[]` is each entry of a list. */
function pathsOf(holder: Node, path: string): readonly string[] {
  const forms = [holder, ...(holder.oneOf ?? []), ...(holder.anyOf ?? [])]
  return forms.flatMap(({ properties = {}, items }) => [
    ...Object.entries(properties).flatMap(([name, field]) => {
      const here = path === '' ? name : `${path}.${name}`
      const within = pathsOf(field, here)
      return within.length === 0 ? [here] : within
    }),
    ...(items === undefined || items === false ? [] : pathsOf(items, `${path}[]`)),
  ])
}
