/** Applies commands to an engine that no other process changes meanwhile. */
import { carriesEvent, traitsOf, type AnswerOf, type Circumstances, type Command } from '../messages/commands.ts'
import { decide } from '../messages/decide.ts'
import type { MessageRecord } from '../messages/record.ts'
import { isUnreadable } from '../messages/replay.ts'
import type { Payload } from '../messages/views.ts'
import type { LocalEngine } from './engine.ts'

const NONE: readonly never[] = []

/** Answers synchronously. The caller provides the transaction. */
export function runLocally<C extends Command>(
  engine: LocalEngine,
  commands: readonly C[],
  about: Pick<Circumstances, 'nowMs' | 'trustedMs' | 'worker' | 'retention'>,
): readonly AnswerOf<C>[] {
  return commands.map((command) => {
    const { key } = command
    const { reads } = traitsOf(command)
    const before = engine.read(key)
    const decided = decide(before, command, {
      ...about,
      isFull: isFull(engine, before, command),
      kept: reads === 'kept' ? (engine.payloadIds([key])[0] ?? NONE) : NONE,
      payload: reads === 'payload' ? firstPayload(engine, key, before) : undefined,
    })
    const { answer, record: after = replacing(before, command), payloads = NONE } = decided
    if (after !== undefined) engine.write({ key, before, after, payloads })
    return answer
  })
}

/** The first command that meets an unreadable record puts its stand-in in its place, which the next claim reports. */
export function replacing(record: MessageRecord | undefined, command: Command): MessageRecord | undefined {
  return isUnreadable(record) && traitsOf(command).effect !== 'none' ? record : undefined
}

function isFull(engine: LocalEngine, record: MessageRecord | undefined, command: Command): boolean {
  const { key } = command
  if (carriesEvent(command)) return engine.isFull({ bytes: command.event.raw.length }, key)
  return traitsOf(command).adds === 'send' && record?.send === undefined && engine.isFull('send', key)
}

function firstPayload(engine: LocalEngine, key: string, record: MessageRecord | undefined): Payload | undefined {
  const id = record?.waiting[0]?.id
  return id === undefined ? undefined : engine.payloads([{ key, id }])[0]
}
