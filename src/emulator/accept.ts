/**
 * Decides for each recipient of a send: accepted, scheduled, queued or refused. Contract, service.md#states-and-transitions.
 */
import { ROW_BY_CODE } from '../carriers/status-codes.ts'
import { isListed } from './channels.ts'
import type { RecipientEntry } from './journal.ts'
import type { Lifecycle } from './lifecycle.ts'
import { CREDITS_A_PART, NUMBER_FORM } from './not-shown.ts'
import type { EmulatorSettings } from './options.ts'
import { documentedOutcome, outcomeOf } from './outcomes.ts'
import type { Project } from './projects.ts'
import { createCounter, drawUuid } from './random.ts'
import type { Send } from './send-request.ts'
import { partsOf } from './parts.ts'

/** Codes that refuse a recipient. Codes 15 to 21 never appear in an answer. */
const REFUSAL_CODES = [12, 22, 23] as const
type RefusalCode = (typeof REFUSAL_CODES)[number]

export interface Accepted {
  readonly recipients: readonly RecipientEntry[]
  /** Number of accepted entries, including scheduled ones. */
  readonly messages: number
  /** The code of the first refused recipient, or of a wholly refused send, which has no recipients. */
  readonly refusedWith: RefusalCode | undefined
}

/** Returns the function that accepts sends. Message ids derive from the seed, the recipient and the number of sends to it. */
export function createAccept(
  { seed, clock, network }: Pick<EmulatorSettings, 'seed' | 'clock' | 'network'>,
  lifecycle: Pick<Lifecycle, 'begin'>,
) {
  const countSend = createCounter()

  /** The reason for a refusal. Undefined if accepted, and then the credits are spent. */
  function refusalOf(project: Project, send: Send, to: readonly string[], parts: number): RefusalCode | undefined {
    if (!to.every((number) => NUMBER_FORM.test(number))) return 12
    const documented = to.map((number) => documentedOutcome(number, send.channel)?.answer ?? 11).find(isRefusal)
    if (documented !== undefined) return documented
    const cost = send.channel === 'airtime' ? send.amount : parts * CREDITS_A_PART
    return project.spend(cost * to.length, parts * to.length)
  }

  /** One entry per part, or a single one for a refusal. */
  function acceptOne(
    project: Project,
    send: Send,
    given: string,
    parts: number,
    refusal: RefusalCode | undefined,
  ): readonly RecipientEntry[] {
    const { channel, channelName, type, scheduledForMs } = send
    const to = given.replace(/^\+/, '')
    const { name } = project.state()
    const id = drawUuid(seed, 'message', name, to, countSend(`${name} ${to}`))
    const outcome = outcomeOf(network, seed, { number: to, channel, messageId: id })
    const isScheduled = scheduledForMs !== undefined && scheduledForMs > clock.now()
    const code = refusal ?? (isScheduled ? 14 : outcome.answer)
    const status = ROW_BY_CODE.get(code)?.word ?? ''
    const entry = { messageId: id, to: given, status, statusCode: String(code), type }
    if (isRefusal(code)) return [{ ...entry, messagePart: 1 }]
    const message = { id, project: name, channel, channelName, to, type }
    return Array.from({ length: parts }, (_, index) => {
      const part = index + 1
      lifecycle.begin({ ...message, part, scheduledForMs: isScheduled ? scheduledForMs : undefined }, outcome)
      return { ...entry, messagePart: part }
    })
  }

  return (project: Project, send: Send): Accepted => {
    const parts = partsOf(send.message)
    // Contract, service.md#states-and-transitions: a channel without codes for refused recipients refuses the whole send.
    const isByRecipient = REFUSAL_CODES.every((code) => isListed(code, send.channel))
    const whole = isByRecipient ? undefined : refusalOf(project, send, send.to, parts)
    if (whole !== undefined) return { recipients: [], messages: 0, refusedWith: whole }
    const recipients = send.to.flatMap((given) => {
      const refusal = isByRecipient ? refusalOf(project, send, [given], parts) : undefined
      return acceptOne(project, send, given, parts, refusal)
    })
    const refused = recipients.map(({ statusCode }) => Number(statusCode)).filter(isRefusal)
    return { recipients, messages: recipients.length - refused.length, refusedWith: refused[0] }
  }
}

function isRefusal(code: number): code is RefusalCode {
  return REFUSAL_CODES.some((refusal) => refusal === code)
}
