/** Contract, service.md#what-the-service-does: every OTP send is logged. */

/** One `transactional` message to one recipient, and what became of it so far. */
export interface OtpEntry {
  /** When it was accepted, in Unix seconds. */
  readonly timestamp: number
  readonly sender: string
  readonly recipient: string
  readonly messageId: string
  /** The word of the last thing known: `accepted`, `scheduled`, `retrying`, or what was reported. */
  readonly deliveryState: string
}

export interface OtpLog {
  add(entry: OtpEntry): void
  /** Passed over for a message that is not in the log. */
  update(messageId: string, deliveryState: string): void
  list(): readonly OtpEntry[]
}

export function createOtpLog(keep: number): OtpLog {
  const entries = new Map<string, OtpEntry>()
  return {
    add(entry) {
      entries.set(entry.messageId, entry)
      const oldest = entries.keys().next()
      if (entries.size > keep && oldest.done !== true) entries.delete(oldest.value)
    },
    update(messageId, deliveryState) {
      const entry = entries.get(messageId)
      if (entry !== undefined) entries.set(messageId, { ...entry, deliveryState })
    },
    list: () => [...entries.values()],
  }
}
