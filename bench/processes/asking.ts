/** Questions and answers between two processes: one question at a time, one answer each. */
import type { ChildProcess } from 'node:child_process'

/** A child's answer if it could not do what was asked. */
interface Failed {
  readonly failed: string
}

/** Asks a child. Rejects with the failure that the child reports, or if it ends without an answer. */
export function ask<Answer extends object>(child: ChildProcess, question: object): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const onMessage = (message: unknown): void => {
      done()
      // Both ends are ours: a child answers each question in its own type, or reports a failure.
      const answer = message as Answer | Failed
      if ('failed' in answer) reject(new Error(answer.failed))
      else resolve(answer)
    }
    const onExit = (code: number | null): void => {
      done()
      reject(new Error(`A process of the benchmark ended with exit code ${String(code)}.`))
    }
    function done(): void {
      child.off('message', onMessage)
      child.off('exit', onExit)
    }
    child.on('message', onMessage)
    child.on('exit', onExit)
    child.send(question)
  })
}

/** The child's side: answers every question, and ends with its parent. */
export function answerQuestions(answer: (question: unknown) => Promise<object>): void {
  const send = (message: object): void => void process.send?.(message)
  process.on('message', (question: unknown) => {
    answer(question).then(send, (error: unknown) =>
      send({ failed: error instanceof Error ? (error.stack ?? error.message) : String(error) }),
    )
  })
  process.on('disconnect', () => process.exit())
}
