/** Runs a schema of the user's. It may throw, reject, or never answer. */
import type { StandardSchemaV1 } from '@standard-schema/spec'
import type { Problem } from '../public/events.ts'
import { withDeadline, type Clock } from './clock.ts'
import { isPromiseLike } from './values.ts'

export type SchemaResult =
  | { readonly data: unknown; readonly problem?: undefined }
  | { readonly problem: Extract<Problem, 'schema_refused' | 'schema_failed'> }

const SCHEMA_FAILED: SchemaResult = { problem: 'schema_failed' }

/** Answers at once if the schema does. Without a schema, the value is as it is. */
export function applySchema(
  schema: StandardSchemaV1 | undefined,
  value: unknown,
  { clock, schemaTimeoutMs }: { readonly clock: Clock; readonly schemaTimeoutMs: number },
): SchemaResult | Promise<SchemaResult> {
  if (schema === undefined) return { data: value }
  try {
    const result = schema['~standard'].validate(value)
    // Not every promise is one of this realm's.
    if (!isPromiseLike(result)) return read(result)
    const later = Promise.resolve(result).then(read)
    return withDeadline(clock, schemaTimeoutMs, later, () => SCHEMA_FAILED).catch(() => SCHEMA_FAILED)
  } catch {
    return SCHEMA_FAILED
  }
}

/** Issues are dropped: their texts quote the value. */
function read(result: { readonly issues?: unknown; readonly value?: unknown }): SchemaResult {
  return result.issues === undefined ? { data: result.value } : { problem: 'schema_refused' }
}
