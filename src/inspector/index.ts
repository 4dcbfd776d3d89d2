/**
 * A page on a receiver: overview, events, the timeline of each message, dead letters and quarantine.
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
 * Creates the inspector of a receiver. It remembers recent attempts, duplicates and problems of this process in bounded memory;
 * everything else it reads from the store on request. Output is masked unless `authorize` grants `reveal`. Throws an
 * `OptionsError` for an invalid option, including a missing `authorize`, and if the first argument is not a receiver.
 */
export function inspector<R = unknown>(receiver: InspectedReceiver, options: InspectorOptions<R>): Inspector {
  return createInspector(receiver, options)
}
