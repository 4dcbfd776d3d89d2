/** Events whose handlers failed in every attempt: why, and what is to become of them. */
import type { DeadLetterList } from '../shapes.ts'
import { askDeadLetters, decide, type Decision } from './asking.ts'
import { h, type Child, type Tree } from './elements.ts'
import { errorText, eventLink, messageLink, quiet, table, typeName } from './parts.ts'
import { href } from './route.ts'
import {
  asking,
  asNoAnswer,
  empty,
  heading,
  problemBox,
  type Question,
  type Screen,
  type Surroundings,
} from './screen.ts'
import { several, time } from './words.ts'

type Letter = DeadLetterList['items'][number]

const STALE_AFTER_MS = 2_000

interface DecisionWords {
  readonly verb: string
  readonly done: string
  readonly will: (count: number) => readonly string[]
}

const WORDS: Readonly<Record<Decision, DecisionWords>> = {
  replay: {
    verb: 'Replay',
    done: 'Will run again',
    will: (count) => [
      `The handlers of ${several(count, 'event')} run again, soon and from the first attempt on.`,
      'Where a later report of the same message was handed over since, they get it as a `late` event.',
    ],
  },
  force: {
    verb: 'Force',
    done: 'Will run again, whatever came since',
    will: (count) => [
      `The handlers of ${several(count, 'event')} run again, soon and from the first attempt on.`,
      'They get it as it is, even where a later report of the same message was handed over since: what they do may then be older than what they did.',
    ],
  },
  discard: {
    verb: 'Discard',
    done: 'Discarded',
    will: (count) => [
      `${several(count, 'event is', 'events are')} given up: not listed any more, and never handed over again.`,
      'This cannot be undone.',
    ],
  },
}

export function deadLettersScreen({ session, route, show, say, askFirst }: Surroundings): Screen {
  const after = route.query.get('after') ?? undefined
  const chosen = new Set<string>()
  let outcome: Child
  let isBusy = false
  const asked = asking(async () => {
    const list = await askDeadLetters({ after })
    const listed = new Set(list.items.map(({ event }) => event.id))
    for (const id of chosen) if (!listed.has(id)) chosen.delete(id)
    return list
  }, show)

  async function run(decision: Decision, ids: readonly string[]): Promise<void> {
    isBusy = true
    show()
    try {
      const { done, missing } = await decide(decision, ids)
      const text = `${WORDS[decision].done}: ${several(done.length, 'event')}.${missing.length === 0 ? '' : ` ${several(missing.length, 'was no dead letter', 'were no dead letters')} any more.`}`
      outcome = h('div', { class: 'note good', key: 'outcome' }, text, ' ', linksTo(decision === 'discard' ? [] : done))
      say(text)
    } catch (error) {
      outcome = problemBox(asNoAnswer(error))
    }
    isBusy = false
    await asked.refresh()
  }

  /** To the messages of what runs again, for that is what one wants to see next. */
  function linksTo(ids: readonly string[]): Child {
    const items = asked.value()?.items.filter(({ event }) => ids.includes(event.id)) ?? []
    return items.slice(0, 3).map(({ event }) => [messageLink(event) ?? eventLink(event, event.id), ' '])
  }

  function question(decision: Decision, ids: readonly string[]): Question {
    const { verb, will } = WORDS[decision]
    return {
      title: `${verb} ${several(ids.length, 'dead letter')}?`,
      text: will(ids.length),
      yes: verb,
      isGrave: decision !== 'replay',
      onYes: () => void run(decision, ids),
    }
  }

  function buttons(ids: readonly string[], about: string): Child {
    return (['replay', 'force', 'discard'] as const).map((decision) =>
      h(
        'button',
        {
          type: 'button',
          class: decision === 'discard' ? 'grave' : '',
          'aria-label': `${WORDS[decision].verb} ${about}`,
          title: WORDS[decision].will(ids.length).join(' ').replaceAll('`', ''),
          disabled: isBusy || ids.length === 0,
          onclick: () => askFirst(question(decision, ids)),
        },
        WORDS[decision].verb,
      ),
    )
  }

  function choose(id: string, isChosen: boolean): void {
    if (isChosen) chosen.add(id)
    else chosen.delete(id)
    show()
  }

  function box(label: string, checked: boolean, onChoice: (isChosen: boolean) => void): Tree {
    return h('input', {
      type: 'checkbox',
      'aria-label': label,
      checked,
      onchange: ({ target }) => target instanceof HTMLInputElement && onChoice(target.checked),
    })
  }

  function list({ items, next }: DeadLetterList): Child {
    if (items.length === 0)
      return empty(
        after === undefined ? 'No dead letters.' : 'No more dead letters.',
        'An event whose handlers fail in every attempt comes here, with its error, until you decide what is to become of it.',
      )
    const mayWrite = session.may.write
    return [
      mayWrite &&
        h(
          'div',
          { class: 'tools', key: 'bar' },
          h(
            'label',
            {},
            box('All on this page', chosen.size === items.length, (isChosen) => {
              for (const { event } of items) choose(event.id, isChosen)
            }),
            ` ${several(chosen.size, 'chosen', 'chosen')}`,
          ),
          buttons([...chosen], 'those chosen'),
        ),
      table<Letter>({
        caption: 'Dead letters, oldest first',
        rows: items,
        keyOf: ({ event }) => event.id,
        isMarked: ({ event }) => chosen.has(event.id),
        class: 'cards letters',
        columns: [
          ...(mayWrite
            ? [
                {
                  name: 'Chosen',
                  class: 'choose',
                  cell: ({ event }: Letter) =>
                    box(`Choose ${nameOf({ event })}`, chosen.has(event.id), (isChosen) => choose(event.id, isChosen)),
                },
              ]
            : []),
          { name: 'Died', class: 'when', cell: ({ diedAt }) => time(diedAt) },
          { name: 'Event', class: 'what', cell: ({ event }) => eventLink(event, typeName(event.type)) },
          {
            name: 'Message',
            class: 'message',
            cell: ({ event }) => [
              messageLink(event),
              event.recipient !== undefined && h('small', { class: 'id' }, ` ${event.recipient}`),
            ],
          },
          {
            name: 'Error',
            class: 'wide',
            cell: ({ error, attempts }) => errorText(error, quiet(` after ${several(attempts, 'attempt')}`)),
          },
          ...(mayWrite
            ? [{ name: 'What to do', class: 'do', cell: ({ event }: Letter) => buttons([event.id], nameOf({ event })) }]
            : []),
        ],
      }),
      h(
        'nav',
        { class: 'pages', 'aria-label': 'Pages' },
        next !== undefined && h('a', { class: 'button', href: href(['dead-letters'], { after: next }) }, 'More »'),
      ),
    ]
  }

  return {
    title: 'Dead letters',
    refresh: asked.refresh,
    staleAfterMs: () => STALE_AFTER_MS,
    content() {
      return [
        heading('Dead letters'),
        !session.may.write &&
          h('p', { class: 'quiet', key: 'may' }, 'You may look, and not change: the app gives you no right to write.'),
        outcome,
        asked.answered(list),
      ]
    },
  }
}

function nameOf({ event: { messageId, type, id } }: Pick<Letter, 'event'>): string {
  return `${type ?? 'event'} of ${messageId ?? id}`
}
