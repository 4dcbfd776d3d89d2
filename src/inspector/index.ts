/**
 * A page on what a receiver takes and hands over: overview, events, each message's timeline, dead letters and quarantine.
 *
 * @module messaging-webhooks/inspector
 */
import { createInspector } from './create.ts'
import type { Inspector, InspectorOptions } from './options.ts'
import type { InspectedReceiver } from './overview.ts'

export type {
  AuditEntry,
  Authorize,
  Authorized,
  Inspector,
  InspectorOptions,
  InspectorRequest,
  Right,
} from './options.ts'
export type { InspectedReceiver } from './overview.ts'

/**
 * Makes the inspector of a receiver. From now on it remembers the last attempts, repetitions and troubles of this process, in bounded
 * room; all else it asks the store, when somebody looks. What is shown is masked unless `authorize` allows `reveal`.
 * Throws an `OptionsError` for an option that cannot work, `authorize` missing among them, and for what is no receiver.
 */
export function inspector<R = unknown>(receiver: InspectedReceiver, options: InspectorOptions<R>): Inspector {
  return createInspector(receiver, options)
}
