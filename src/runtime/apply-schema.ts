/** Runs a user's schema, which may throw, reject, or never settle. */
import type { StandardSchemaV1 } from '@standard-schema/spec'
import type { CallbackProblem } from '../public/events.ts'
import { withDeadline, type Clock } from './clock.ts'
import { isPromiseLike } from './values.ts'

export type SchemaResult =
  | { readonly data: unknown; readonly problem?: undefined }
  | { readonly problem: Extract<CallbackProblem, 'schema_refused' | 'schema_failed'> }

const SCHEMA_FAILED: SchemaResult = { problem: 'schema_failed' }

/** Synchronous if the schema is. Without a schema, returns the value unchanged. */
export function applySchema(
  schema: StandardSchemaV1 | undefined,
  value: unknown,
  { clock, schemaTimeoutMs }: { readonly clock: Clock; readonly schemaTimeoutMs: number },
): SchemaResult | Promise<SchemaResult> {
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

/** Drops the issues, because their texts quote the value. */
function read(result: { readonly issues?: unknown; readonly value?: unknown }): SchemaResult {
  return result.issues === undefined ? { data: result.value } : { problem: 'schema_refused' }
}
