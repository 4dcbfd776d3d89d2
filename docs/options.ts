/** The receiver's options as the reference shows them: what their schema says, and what their comments say. */
import ts from 'typescript'
import { z } from 'zod'
import { receiverOptions } from '../src/receiver/options.ts'
import { memoryBounds } from '../src/stores/memory/store.ts'
import { mysqlOptions } from '../src/stores/mysql/settings.ts'
import { postgresOptions } from '../src/stores/postgres/settings.ts'
import { redisOptions } from '../src/stores/redis/settings.ts'
import { sqliteOptions } from '../src/stores/sqlite/settings.ts'
import { LONGEST_TIMER_MS } from '../src/runtime/clock.ts'
import { readProjectFile } from './markdown.ts'

interface OptionRow {
  /** As in `retry.attempts`. */
  readonly name: string
  readonly type: string
  readonly range: readonly [minimum: number, maximum: number] | undefined
  readonly default: string
  /** The comment without the unit, the range and the default. */
  readonly what: string
  /** The whole comment, as one line. */
  readonly comment: string
  /** How the comment ends where the schema has a range or a default. */
  readonly ending: string
}

const SOURCE = 'src/receiver/options.ts'
/** Limits that the page states once. */
const LARGEST = [LONGEST_TIMER_MS, Number.MAX_SAFE_INTEGER]

/** Whatever JSON Schema cannot express, such as a function, has only a `description` in it. */
type JsonSchema = z.core.JSONSchema.BaseSchema

/** Every option there is, in the order of the schema. */
export const OPTIONS: readonly OptionRow[] = rowsOf(
  z.toJSONSchema(z.strictObject(receiverOptions), { unrepresentable: 'any' }),
  commentsIn(readProjectFile(SOURCE)),
)

function rowsOf({ properties = {} }: JsonSchema, comments: ReadonlyMap<string, string>, group = ''): OptionRow[] {
  return Object.entries(properties).flatMap(([key, schema]) => {
    const name = `${group}${key}`
    const comment = comments.get(name)
    if (typeof schema === 'boolean') return []
    if (comment === undefined) throw new Error(`${SOURCE}: ${name} has no comment.`)
    // What `schemas` takes, it says itself.
    return [rowOf(name, schema, comment), ...(name === 'schemas' ? [] : rowsOf(schema, comments, `${name}.`))]
  })
}

function rowOf(name: string, schema: JsonSchema, comment: string): OptionRow {
  const { minimum, maximum } = schema
  const type = typeOf(schema)
  const range = minimum === undefined || maximum === undefined ? undefined : ([minimum, maximum] as const)
  const said = /(?:^| )Default: (.+)\.$/.exec(comment)?.[1]
  const value = schema.default === undefined ? said : written(schema.default)
  const limits =
    range === undefined ? '' : `${type.charAt(0).toUpperCase()}${type.slice(1)}, ${range.map(commas).join(' to ')}. `
  const ending = value === undefined ? limits : `${limits}Default: ${value}.`
  const what = comment.replace(ending, '').trim()
  return { name, type, range, default: value ?? code('{}'), what, comment, ending }
}

/** The type with its limits, but for those that the page states once. */
export function shownType({ type, range }: OptionRow): string {
  if (range === undefined) return type.replaceAll('|', '\\|')
  const [minimum, maximum] = range
  if (!LARGEST.includes(maximum)) return `${type}, ${commas(minimum)} to ${commas(maximum)}`
  return minimum === 1 ? type : `${type}, from ${commas(minimum)}`
}

function typeOf(schema: JsonSchema): string {
  const { description } = schema
  if (description !== undefined) return description.replaceAll(/\([\w, ]*\) => .+|\{.*\}|\w+\(\)|\bfalse\b/g, code)
  if (schema.enum !== undefined) return schema.enum.map(written).join(', ')
  if (schema.type === 'boolean') return '`true`, `false`'
  return code(`{ ${Object.keys(schema.properties ?? {}).join(', ')} }`)
}

/** The options of the stores, and the files with their comments. */
export const STORE_OPTIONS = {
  memory: [memoryBounds, ['memory/store.ts']],
  sqlite: [sqliteOptions, ['sqlite/settings.ts', 'retention-options.ts']],
  postgres: [postgresOptions, ['postgres/settings.ts', 'sql/connecting.ts', 'retention-options.ts']],
  mysql: [mysqlOptions, ['mysql/settings.ts', 'sql/connecting.ts', 'retention-options.ts']],
  redis: [redisOptions, ['retention-options.ts', 'redis/settings.ts']],
} as const satisfies Record<string, readonly [Readonly<Record<string, z.ZodType>>, readonly string[]]>

/** The numeric options of a store, with the default as its schema has it and as its comment states it. */
export function storeOptionsOf(store: keyof typeof STORE_OPTIONS) {
  const [shape, files] = STORE_OPTIONS[store]
  const comments = new Map(
    files
      .flatMap((file) => [...commentsIn(readProjectFile(`src/stores/${file}`))])
      .map(([name, text]) => [name.slice(name.indexOf('.') + 1), text]),
  )
  return Object.entries<z.ZodType>(shape).flatMap(([name, schema]) => {
    const { data } = schema.safeParse(undefined)
    const [, what = '', stated = ''] = /^(.+) Default (.+)\.$/.exec(comments.get(name) ?? '') ?? []
    return typeof data === 'number' ? [{ name, what, stated, default: data }] : []
  })
}

/** The comments of the options: those of `const retry = { … }` begin with `retry.`. */
function commentsIn(source: string): ReadonlyMap<string, string> {
  const comments = new Map<string, string>()
  function visit(node: ts.Node, group: string): void {
    if (ts.isPropertyAssignment(node)) {
      const [comment] = ts.getJSDocCommentsAndTags(node)
      const text = ts.getTextOfJSDocComment(comment?.comment) ?? ''
      if (text !== '') comments.set(`${group}${node.name.getText()}`, text.replaceAll(/\s+/g, ' '))
    }
    const isGroup = ts.isVariableDeclaration(node) && node.name.getText() !== 'receiverOptions'
    ts.forEachChild(node, (child) => visit(child, isGroup ? `${node.name.getText()}.` : group))
  }
  visit(ts.createSourceFile(SOURCE, source, ts.ScriptTarget.Latest, true), '')
  return comments
}

function written(value: unknown): string {
  return typeof value === 'number' ? commas(value) : code(JSON.stringify(value))
}

function commas(number: number): string {
  return number.toLocaleString('en-US')
}

function code(text: string): string {
  return `\`${text}\``
}
