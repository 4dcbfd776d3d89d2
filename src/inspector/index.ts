/**
 * A page on a receiver: overview, events, the timeline of each message, dead letters and quarantine.
 *
 * @module messaging-webhooks/inspector
 */
import '../runtime/supported-node.ts'
export { inspector } from './create.ts'
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
