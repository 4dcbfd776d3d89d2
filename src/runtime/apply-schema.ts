/** Runs a user's schema, which may throw, reject, or never settle. */
import type { StandardSchemaV1 } from '@standard-schema/spec'
import type { CallbackProblem } from '../public/events.ts'
import { withDeadline, type Clock } from './clock.ts'
import { isPromiseLike, isRecord } from './values.ts'

export type SchemaResult =
  | { readonly data: unknown; readonly problem?: undefined }
  | {
      readonly problem: Extract<CallbackProblem, 'schema_refused' | 'schema_failed'>
      /** Where the schema refused the value, such as `data.amount`. Empty if it failed. */
      readonly paths: readonly string[]
    }

const SCHEMA_FAILED: SchemaResult = { problem: 'schema_failed', paths: [] }

/** Synchronous if the schema is. Without a schema, returns the value unchanged. `name` begins each path. */
export function applySchema(
  schema: StandardSchemaV1 | undefined,
  value: unknown,
  name: 'data' | 'meta',
  { clock, schemaTimeoutMs }: { readonly clock: Clock; readonly schemaTimeoutMs: number },
): SchemaResult | Promise<SchemaResult> {
  const read = (result: SchemaOutput): SchemaResult =>
    result.issues === undefined
      ? { data: result.value }
      : { problem: 'schema_refused', paths: pathsIn(result.issues, name) }
  if (schema === undefined) return { data: value }
  try {
    const result = schema['~standard'].validate(value)
    // The promise may come from another realm or library.
    if (!isPromiseLike(result)) return read(result)
    const later = Promise.resolve(result).then(read)
    return withDeadline(clock, schemaTimeoutMs, later, () => SCHEMA_FAILED).catch(() => SCHEMA_FAILED)
  } catch {
    return SCHEMA_FAILED
  }
}

interface SchemaOutput {
  readonly issues?: unknown
  readonly value?: unknown
}

const MAX_PATHS = 10
const MAX_SEGMENTS = 8
const MAX_INDEX = 9_999
/** Other keys, such as a phone number, may be data of a person. */
const FIELD_NAME = /^[a-z_$][\w$-]{0,39}$/i

/** The paths of the issues, without their texts, which quote the value. */
function pathsIn(issues: unknown, name: string): readonly string[] {
  try {
    const paths = new Set<string>()
    for (const issue of Array.isArray(issues) ? issues.slice(0, MAX_PATHS) : []) {
      const path: unknown = isRecord(issue) ? issue['path'] : undefined
      const segments = Array.isArray(path) ? path.slice(0, MAX_SEGMENTS).map(segmentText) : []
      paths.add([name, ...segments].join('.'))
    }
    return [...paths]
  } catch {
    // A hostile issue, such as one with a getter that throws.
    return []
  }
}

/** A name of a field or an index of a list; `*` for any other key. */
function segmentText(segment: unknown): string {
  const key: unknown = isRecord(segment) ? segment['key'] : segment
  if (typeof key === 'string' && FIELD_NAME.test(key)) return key
  return typeof key === 'number' && Number.isInteger(key) && key >= 0 && key <= MAX_INDEX ? String(key) : '*'
}
