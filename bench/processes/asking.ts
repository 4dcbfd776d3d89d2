/** Questions and answers between two processes: one question at a time, one answer each. */
import type { ChildProcess } from 'node:child_process'

/** What a child says where it could not do what was asked. */
interface Failed {
  readonly failed: string
}

/** Asks a child. Rejects with what it says has failed, and where it ends without an answer. */
export function ask<Told extends object>(child: ChildProcess, question: object): Promise<Told> {
  return new Promise((resolve, reject) => {
    const onMessage = (told: unknown): void => {
      done()
      // Both ends are ours: a child answers each question in its own type, or says that it failed.
      const answer = told as Told | Failed
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

/** The child's end: answers every question, and ends with its parent. */
export function answerQuestions(answer: (question: unknown) => Promise<object>): void {
  const tell = (told: object): void => void process.send?.(told)
  process.on('message', (question: unknown) => {
    answer(question).then(tell, (error: unknown) =>
      tell({ failed: error instanceof Error ? (error.stack ?? error.message) : String(error) }),
    )
  })
  process.on('disconnect', () => process.exit())
}
