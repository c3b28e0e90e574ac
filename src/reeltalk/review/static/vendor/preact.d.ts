/** Types of the exports that the review's scripts use. */

export type Child = Node | object | string | number | boolean | null | undefined;
export function html(strings: TemplateStringsArray, ...values: unknown[]): any;
export function h(type: unknown, props: object | null, ...children: unknown[]): any;
export function render(node: unknown, place: Element | DocumentFragment): void;
export class Component<P = {}, S = {}> {
  constructor(props?: P);
  props: P;
  state: S;
  setState(next: Partial<S> | ((before: S) => Partial<S>), done?: () => void): void;
  forceUpdate(): void;
  render(props: P, state: S): unknown;
}
export function createContext<T>(initial: T): any;
export function useContext<T = any>(context: any): T;
export function useState<T>(initial: T | (() => T)): [T, (next: T | ((before: T) => T)) => void];
export function useReducer<S, A>(reducer: (state: S, action: A) => S, initial: S): [S, (action?: A) => void];
export function useEffect(effect: () => void | (() => void), inputs?: unknown[]): void;
export function useLayoutEffect(effect: () => void | (() => void), inputs?: unknown[]): void;
export function useRef<T = any>(initial?: T | null): { current: T };
export function useMemo<T>(make: () => T, inputs: unknown[]): T;
export function useCallback<T>(callback: T, inputs: unknown[]): T;
export function useErrorBoundary(callback?: (error: unknown) => void): [unknown, () => void];
