import { isRecord, textOf } from '../runtime/values.ts'

/**
 * Parses the body without its authKey, which is already masked in these bytes. Undefined if it is not JSON, because masking by
 * value may have broken an escape. Each call returns a new copy.
 */
export function payloadIn(masked: Buffer): unknown {
  let value: unknown
  try {
    value = JSON.parse(textOf(masked))
  } catch {
    return undefined
  }
  if (!isRecord(value)) return value
  const { authKey: _, ...payload } = value
  return payload
}
