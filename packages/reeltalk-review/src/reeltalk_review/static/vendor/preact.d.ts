/** The part of preact.js that the pages use. */
export type Child = any;
export class Component<P = any> {
  constructor(props: P);
  props: P & { children?: Child };
  forceUpdate(done?: () => void): void;
  componentDidMount?(): void;
  componentDidUpdate?(): void;
  componentWillUnmount?(): void;
  shouldComponentUpdate?(): boolean;
  render(): Child;
}
export const html: (strings: TemplateStringsArray, ...values: any[]) => Child;
export function render(child: Child, parent: Element): void;
export function useState<T>(start: T | (() => T)): [T, (value: T) => void];
export function useRef<T>(start: T): { current: T };
export function useEffect(act: () => void | (() => void), inputs?: any[]): void;
export function useLayoutEffect(act: () => void | (() => void), inputs?: any[]): void;
