/** What is written down of each change. */
import { failureLine } from '../failure-text.ts'
import type { Logger } from '../logger.ts'
import { letReject } from '../promises.ts'

/** One line of the audit: a change that was made, refused, or failed. */
export interface AuditEntry {
  /** Such as `dead-letters.replay`. */
  readonly what:
    'dead-letters.replay' | 'dead-letters.force' | 'dead-letters.discard' | 'quarantine.reverify' | 'events.download'
  /** As `authorize` named it. */
  readonly who: string | undefined
  readonly at: Date
  readonly remoteAddress: string | undefined
  /** `refused`: without the right to it, or from another page; then nothing was read of what was asked for. */
  readonly outcome: 'done' | 'refused' | 'failed'
  /** Of the events, where there are any. */
  readonly ids: readonly string[]
  /** What came of it: how many, and of what. */
  readonly result: Readonly<Record<string, number | boolean>>
}

/** Writes an entry down. */
export type Audit = (entry: AuditEntry) => void

/** To the user's function, whatever it throws; without one, a line at the level `info`. */
export function guardedAudit(
  given: ((entry: AuditEntry) => unknown) | undefined,
  logger: Logger,
  secrets: () => readonly string[],
): Audit {
  return (entry) => {
    const { what, who, at, remoteAddress, outcome, ids, result } = entry
    if (given === undefined) {
      const said = { what, who, at: at.toISOString(), remoteAddress, outcome, ids, ...result }
      logger.info(
        { code: 'inspector_audit', ...said },
        `Inspector: ${what}, by ${who ?? 'somebody without a name'}: ${outcome}.`,
      )
      return
    }
    try {
      letReject(given(entry))
    } catch (error) {
      const cause = failureLine(error, secrets())
      logger.error({ code: 'inspector_audit_failed', cause }, `\`audit\` of the inspector threw. The cause: ${cause}`)
    }
  }
}
