/** Decides each recipient of a send: accepted, scheduled, queued, or which refusal. Contract, "States and transitions". */
import type { Clock } from '../../clock.ts'
import { statusCodeRow } from '../../statuses/status-codes.ts'
import type { StatusCode } from '../../events.ts'
import type { Seed } from '../faults/draws.ts'
import type { RecipientEntry } from '../journal.ts'
import type { Lifecycle } from '../lifecycle.ts'
import { chanceOutcome, type NetworkProfile } from '../network.ts'
import { CREDITS_A_PART, NUMBER_FORM } from '../not-shown.ts'
import type { OtpLog } from '../otp-log.ts'
import { documentedOutcome, type Outcome } from '../outcomes.ts'
import { partsOf } from '../parts.ts'
import type { Project } from '../projects.ts'
import { drawUuid } from '../random.ts'
import type { Send } from './read-send.ts'

/** The codes of an answer; those from 15 to 21 never are. Contract, "States and transitions", rule 1. */
type SyncCode = Extract<StatusCode, 11 | 12 | 13 | 14 | 22 | 23>

interface AcceptParts {
  readonly seed: Seed
  readonly clock: Pick<Clock, 'now'>
  readonly network: NetworkProfile
  readonly lifecycle: Lifecycle
  readonly otpLog: OtpLog
}

export interface Accepted {
  readonly recipients: readonly RecipientEntry[]
  /** How many of them were accepted, be it for later. */
  readonly messages: number
  /** The code of the first that was not. */
  readonly refusedWith: 12 | 22 | 23 | undefined
}

/** Returns the function that takes a send. Message ids follow from the seed, the recipient and the sends to it before. */
export function createAccept({ seed, clock, network, lifecycle, otpLog }: AcceptParts) {
  const sendsTo = new Map<string, number>()

  function nextId(project: string, to: string): string {
    const name = `${project} ${to}`
    const nth = sendsTo.get(name) ?? 0
    sendsTo.set(name, nth + 1)
    return drawUuid(seed, 'message', project, to, nth)
  }

  function decide(project: Project, send: Send, outcome: Outcome, parts: number): SyncCode {
    if (outcome.answer === 12 || outcome.answer === 22 || outcome.answer === 23) return outcome.answer
    const cost = send.channel === 'airtime' ? send.amount : parts * CREDITS_A_PART
    const shortage = project.spend(cost, parts)
    if (shortage !== undefined) return shortage === 'volume_limit' ? 23 : 22
    if (send.scheduledForMs !== undefined && send.scheduledForMs > clock.now()) return 14
    return outcome.answer
  }

  function acceptOne(project: Project, send: Send, given: string): readonly RecipientEntry[] {
    const to = given.replace(/^\+/, '')
    const { name, senderId } = project.state()
    const id = nextId(name, to)
    const isSupported = NUMBER_FORM.test(given)
    const outcome =
      documentedOutcome(to, send.channel) ??
      chanceOutcome(network, seed, { number: to, channel: send.channel, messageId: id })
    const parts = partsOf(send.message)
    const code = isSupported ? decide(project, send, outcome, parts) : 12
    const status = statusCodeRow(code)?.word ?? ''
    const entry = { messageId: id, to: given, status, statusCode: String(code), type: send.type }
    if (isRefusal(code)) return [{ ...entry, messagePart: 1 }]
    const from = send.from ?? senderId
    if (send.type === 'transactional')
      otpLog.add({
        timestamp: Math.floor(clock.now() / 1_000),
        sender: from,
        recipient: to,
        messageId: id,
        deliveryState: status,
      })
    return Array.from({ length: parts }, (_, index) => {
      const message = {
        id,
        project: name,
        channel: send.channel,
        channelName: send.channelName,
        from,
        to,
        type: send.type,
        part: index + 1,
        scheduledForMs: code === 14 ? send.scheduledForMs : undefined,
      }
      lifecycle.begin(message, outcome)
      return { ...entry, messagePart: index + 1 }
    })
  }

  return (project: Project, send: Send): Accepted => {
    const recipients = send.to.flatMap((given) => acceptOne(project, send, given))
    const refused = recipients.map(({ statusCode }) => Number(statusCode)).filter(isRefusal)
    return { recipients, messages: recipients.length - refused.length, refusedWith: refused[0] }
  }
}

function isRefusal(code: number): code is 12 | 22 | 23 {
  return code === 12 || code === 22 || code === 23
}
