import { expect, test } from 'vitest'
import { deferring } from '../../src/stores/deferring.ts'
import type { AnswerOf, Command } from '../../src/messages/commands.ts'

const settle = (id: string) => ({ do: 'settle', key: `message of ${id}`, id, token: 1, outcome: 'done' }) as const
const expire = (key: string) => ({ do: 'expire', key }) as const

function recording(fails = false) {
  const calls: (readonly string[])[] = []
  const run = deferring(async <C extends Command>(commands: readonly C[]): Promise<readonly AnswerOf<C>[]> => {
    calls.push(commands.map(({ key }) => key))
    if (fails) throw new Error('The connection was lost.')
    // Each answer names its command.
    return commands.map(({ key }) => key) as readonly unknown[] as readonly AnswerOf<C>[]
  })
  return { calls, run }
}

test('deferred commands go with the next call, before its own, and each caller gets its answers', async () => {
  const { calls, run } = recording()
  const first = run([settle('a'), settle('b')], true)
  const second = run([settle('c')], true)
  expect(calls).toEqual([])
  expect(await run([expire('d'), expire('e')])).toEqual(['d', 'e'])
  expect(await first).toEqual(['message of a', 'message of b'])
  expect(await second).toEqual(['message of c'])
  expect(calls).toEqual([['message of a', 'message of b', 'message of c', 'd', 'e']])
  expect(await run([expire('f')])).toEqual(['f'])
  expect(calls).toHaveLength(2)
})

test('without another call, deferred commands go together, soon', async () => {
  const { calls, run } = recording()
  await Promise.all([run([settle('a')], true), run([settle('b')], true)])
  expect(calls).toEqual([['message of a', 'message of b']])
})

test('a failed call fails what went with it', async () => {
  const { run } = recording(true)
  const deferred = run([settle('a')], true)
  await expect(run([expire('b')])).rejects.toThrow('lost')
  await expect(deferred).rejects.toThrow('lost')
  await expect(run([settle('c')], true)).rejects.toThrow('lost')
})
