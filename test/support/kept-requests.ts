/** Requests as the quarantine keeps them. */
import type { QuarantineClass } from '../../src/quarantine/request.ts'
import type { ExactCallback, Standing } from '../../src/quarantine/request.ts'

/** A refused callback with this body. */
export function refusedWith(bytes: Buffer, fields: Partial<ExactCallback> = {}): ExactCallback {
  return {
    kind: 'status',
    policy: 'either',
    signatures: [],
    contentEncoding: undefined,
    captured: { kind: 'exact', decoded: false, bytes },
    arrivedAtMs: 0,
    ...fields,
  }
}

export function standing(name: QuarantineClass, fields: Partial<Standing> = {}): Standing {
  const unchecked = name === 'unverified'
  return { class: name, unchecked, code: 'signature_missing', offsetSeconds: undefined, project: undefined, ...fields }
}
