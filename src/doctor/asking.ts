/** Sends a probe and reads its answer. */
import type { Clock } from '../clock.ts'
import type { Heard } from './judging.ts'
import { makeProbe, type Probe, type ProbeForm, type ProbePair } from './probe.ts'
import { readReply, type Reply } from './reading-answers.ts'
import type { Answered, Sender, Unanswered } from './sending.ts'

export interface Asked {
  readonly probe: Probe
  readonly outcome: Answered | Unanswered
  readonly reply: Reply
  readonly sentAtMs: number
  /** Where a receiver with this pair has answered. */
  readonly heard: Heard | undefined
}

export interface Exchange {
  ask(form?: ProbeForm): Promise<Asked>
}

interface ExchangeOptions {
  readonly url: URL
  readonly sender: Sender
  readonly clock: Clock
  readonly pair: ProbePair
  readonly project: string | undefined
  /** Called before it is sent. */
  readonly expect: (messageId: string) => void
}

export function createExchange({ url, sender, clock, pair, project, expect }: ExchangeOptions): Exchange {
  return {
    async ask(form = {}) {
      const sentAtMs = clock.now()
      const probe = makeProbe({ pair: form.pair ?? pair, project, form, nowMs: sentAtMs })
      expect(probe.messageId)
      const outcome = await sender.send(probe)
      const reply = readReply(url, probe, outcome)
      const heard = reply.kind === 'report' ? { probe, sentAtMs, facts: reply.facts, tookMs: reply.tookMs } : undefined
      return { probe, outcome, reply, sentAtMs, heard }
    },
  }
}
