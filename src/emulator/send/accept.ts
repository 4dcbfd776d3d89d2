/** Decides each recipient of a send: accepted, scheduled, queued, or which refusal. Contract, service.md#states-and-transitions. */
import type { Clock } from '../../clock.ts'
import { ROW_BY_CODE } from '../../statuses/status-codes.ts'
import type { StatusCode } from '../../events.ts'
import { isListed } from '../channels.ts'
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

/** The codes of an answer; those from 15 to 21 never are. Contract, service.md#states-and-transitions, rule 1. */
type SyncCode = Extract<StatusCode, 11 | 12 | 13 | 14 | 22 | 23>

/** Those with which a recipient is refused. */
const REFUSAL_CODES = [12, 22, 23] as const
type RefusalCode = (typeof REFUSAL_CODES)[number]

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
  /** The code of the first that was not. Of a send that was refused as a whole, why: it has no recipients. */
  readonly refusedWith: RefusalCode | undefined
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

  /** Why these cannot be accepted; where they can, their credits are spent. */
  function refusalOf(project: Project, send: Send, to: readonly string[], parts: number): RefusalCode | undefined {
    if (!to.every((number) => NUMBER_FORM.test(number))) return 12
    const documented = to.map((number) => documentedOutcome(number, send.channel)?.answer ?? 11).find(isRefusal)
    if (documented !== undefined) return documented
    const cost = send.channel === 'airtime' ? send.amount : parts * CREDITS_A_PART
    const shortage = project.spend(cost * to.length, parts * to.length)
    if (shortage === undefined) return undefined
    return shortage === 'volume_limit' ? 23 : 22
  }

  function acceptedAs({ scheduledForMs }: Send, { answer }: Outcome): SyncCode {
    return scheduledForMs !== undefined && scheduledForMs > clock.now() ? 14 : answer
  }

  function acceptOne(
    project: Project,
    send: Send,
    given: string,
    { parts, refusal }: { readonly parts: number; readonly refusal: RefusalCode | undefined },
  ): readonly RecipientEntry[] {
    const to = given.replace(/^\+/, '')
    const { name, senderId } = project.state()
    const id = nextId(name, to)
    const outcome =
      documentedOutcome(to, send.channel) ??
      chanceOutcome(network, seed, { number: to, channel: send.channel, messageId: id })
    const code = refusal ?? acceptedAs(send, outcome)
    const status = ROW_BY_CODE.get(code)?.word ?? ''
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
    const parts = partsOf(send.message)
    // Contract, service.md#states-and-transitions: without a code for a recipient's refusal there is only one for the whole send.
    const isByRecipient = REFUSAL_CODES.every((code) => isListed(code, send.channel))
    const whole = isByRecipient ? undefined : refusalOf(project, send, send.to, parts)
    if (whole !== undefined) return { recipients: [], messages: 0, refusedWith: whole }
    const recipients = send.to.flatMap((given) => {
      const refusal = isByRecipient ? refusalOf(project, send, [given], parts) : undefined
      return acceptOne(project, send, given, { parts, refusal })
    })
    const refused = recipients.map(({ statusCode }) => Number(statusCode)).filter(isRefusal)
    return { recipients, messages: recipients.length - refused.length, refusedWith: refused[0] }
  }
}

function isRefusal(code: number): code is RefusalCode {
  return REFUSAL_CODES.some((refusal) => refusal === code)
}
