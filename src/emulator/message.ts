import type { Channel } from './not-shown.ts'

/** One part of one message to one recipient, once it was accepted. */
export interface Message {
  readonly id: string
  /** The project's display name. */
  readonly project: string
  readonly channel: Channel
  /** As the send named it. */
  readonly channelName: string
  readonly from: string
  readonly to: string
  /** `bulk`, `transactional`, or whatever the send said. */
  readonly type: string
  /** 1 for the first, or only, part. */
  readonly part: number
  /** Milliseconds since the Unix epoch; undefined for at once. */
  readonly scheduledForMs: number | undefined
}
