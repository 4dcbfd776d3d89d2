/** The tables of the page about `openapi.json`. */
import { OPENAPI } from './openapi.ts'
import { SCHEMAS, type JsonSchema } from './openapi-schemas.ts'
import type { GeneratedTable } from './tables.ts'

const PAGE = 'docs/reference/openapi.md'

/** Schemas with a table of their fields. */
const OBJECTS = ['SendRequest', 'RecipientEntry', 'SmsDeliveryReport', 'ChatAppDeliveryReport']
/** Schemas with a table of their envelopes. */
const ENVELOPES = ['SendAnswer', 'SendError']

export const OPENAPI_TABLES: readonly GeneratedTable[] = [
  {
    page: PAGE,
    under: 'answers',
    header: ['HTTP status', 'What'],
    rows: Object.entries(OPENAPI.paths['/v1/messaging'].post.responses).map(([status, { $ref }]) => [
      code(status),
      descriptionOf($ref),
    ]),
  },
  {
    page: PAGE,
    under: 'callbacks',
    header: ['Callback', 'What'],
    rows: Object.entries(OPENAPI.webhooks).map(([name, { post }]) => [code(name), `${post.summary}.`]),
  },
  ...OBJECTS.map((name) => ({
    page: PAGE,
    under: name.toLowerCase(),
    header: ['Field', 'Type', 'What'],
    rows: fieldsOf(SCHEMAS[name] ?? {}),
  })),
  ...ENVELOPES.map((name) => ({
    page: PAGE,
    under: name.toLowerCase(),
    header: ['Channel', 'Fields'],
    rows: (SCHEMAS[name]?.anyOf ?? []).filter(isObject).map((envelope) => [
      envelope.title ?? '',
      fieldsOf(envelope)
        .map(([field]) => field)
        .join(', '),
    ]),
  })),
]

function descriptionOf(ref: string): string {
  const found = Object.entries(OPENAPI.components.responses).find(([name]) => ref.endsWith(`/${name}`))
  return found?.[1].description ?? ''
}

/** A row for each field that has no fields of its own. `?` marks those that may be absent. */
function fieldsOf({ properties = {}, required = [] }: JsonSchema, within = ''): string[][] {
  return Object.entries(properties).flatMap(([name, schema]) => {
    if (!isObject(schema)) return []
    if (schema.properties !== undefined && Object.keys(schema.properties).length > 0)
      return fieldsOf(schema, `${within}${name}.`)
    const { description = '', examples = [] } = schema
    const known = examples.length === 0 ? '' : ` For example ${examples.map((word) => code(String(word))).join(', ')}.`
    return [[code(`${within}${name}${required.includes(name) ? '' : '?'}`), typeOf(schema), description + known]]
  })
}

function typeOf({ type = [], anyOf = [] }: JsonSchema): string {
  return [type, anyOf.filter(isObject).map(typeOf)].flat().join(' or ') || 'any'
}

function isObject(schema: JsonSchema | boolean): schema is JsonSchema {
  return typeof schema === 'object'
}

function code(text: string): string {
  return `\`${text}\``
}
