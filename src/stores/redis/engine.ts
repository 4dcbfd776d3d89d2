/** What the verbs of the Redis store share. */
import type { DamageReports } from './damage.ts'
import type { Partitions } from './partitions.ts'
import type { Scripted } from './scripted.ts'

export interface Engine {
  readonly redis: Scripted
  readonly partitions: Partitions
  readonly retention: Retention
  /** The time to hand to a script: empty, so that it is the server's; tests tell it. */
  readonly timeFor: (nowMs: number) => string
  /** The same for what no verb asks for: the time that was told last. */
  readonly latestTime: () => string
  /** Reports what a script found spoilt. */
  readonly damage: DamageReports
  /** A name for one call, by which a script knows that it has run for it. */
  readonly nextCall: () => string
}

export interface Retention {
  readonly retentionMs: number
  readonly deadLetterMs: number
  readonly dedupeMs: number
}
